"""What happens to the labels of a workbook besides asking and telling: free ones, and those given up."""
